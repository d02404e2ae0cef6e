// Frequent names of persons by language, for generated names: given names of men and women, and family names. English:
// the most frequent of the United States census of 1990, in the public domain; others: common names, collected for this
// list. 32 names per list, separated by blanks.
#pragma once
#include <string_view>

namespace tessera {

constexpr size_t kNamesOfAList = 32, kNameParts = 3;  // male, female, family

constexpr std::string_view kNameLists[][kNameParts] = {
    // English
    {"James John Robert Michael William David Richard Charles Joseph Thomas Daniel Paul Mark Donald George Kenneth "
     "Steven Edward Brian Ronald Anthony Kevin Jason Matthew Gary Timothy Larry Jeffrey Frank Scott Eric Stephen",
     "Mary Patricia Linda Barbara Elizabeth Jennifer Susan Margaret Dorothy Lisa Nancy Karen Betty Helen Sandra Donna "
     "Carol Ruth Sharon Michelle Laura Sarah Kimberly Deborah Jessica Shirley Cynthia Angela Melissa Brenda Amy "
     "Rebecca",
     "Smith Johnson Williams Jones Brown Davis Miller Wilson Moore Taylor Anderson Jackson White Harris Martin "
     "Thompson "
     "Robinson Clark Lewis Lee Walker Hall Allen Young King Wright Hill Scott Green Adams Baker Nelson"},
    {"Andrew Raymond Gregory Joshua Jerry Dennis Walter Patrick Peter Harold Douglas Henry Carl Arthur Ryan Roger Jack "
     "Albert Jonathan Justin Terry Gerald Keith Samuel Ralph Lawrence Nicholas Benjamin Bruce Adam Harry Oliver",
     "Virginia Kathleen Pamela Martha Debra Amanda Stephanie Carolyn Christine Marie Janet Catherine Frances Ann Joyce "
     "Diane Alice Julie Heather Doris Gloria Evelyn Jean Cheryl Mildred Katherine Joan Ashley Judith Emily Olivia Emma",
     "Carter Mitchell Roberts Turner Phillips Campbell Parker Evans Edwards Collins Stewart Morris Rogers Reed Cook "
     "Morgan Bell Murphy Bailey Cooper Richardson Cox Howard Ward Peterson Gray Watson Brooks Kelly Sanders Price "
     "Wood"},
    // German
    {"Hans Peter Wolfgang Klaus Jürgen Michael Thomas Andreas Stefan Christian Markus Matthias Uwe Bernd Frank Ralf "
     "Jens Lukas Felix Jonas Maximilian Florian Sebastian Tobias Karl Heinz Dieter Günter Werner Helmut Otto Fritz",
     "Ursula Monika Petra Sabine Renate Helga Karin Brigitte Ingrid Erika Andrea Claudia Susanne Gabriele Heike Birgit "
     "Anja Katrin Nicole Julia Lena Hannah Leonie Katharina Johanna Greta Ilse Gisela Inge Hildegard Frieda Anneliese",
     "Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf "
     "Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Werner Krause Lehmann Köhler Huber "
     "Keller "
     "Vogel"},
    // French
    {"Jean Pierre Michel Philippe Alain Nicolas Christophe Patrick Laurent Stéphane Frédéric Julien Sébastien Olivier "
     "François Pascal Thierry Guillaume Antoine Mathieu Hugo Lucas Louis Gabriel Arthur Jules Étienne Benoît Jacques "
     "André Marcel René",
     "Marie Nathalie Isabelle Sylvie Catherine Françoise Valérie Sandrine Christine Monique Véronique Céline Sophie "
     "Aurélie Émilie Camille Léa Manon Chloé Inès Jeanne Louise Juliette Hélène Brigitte Martine Dominique Élise "
     "Claire "
     "Pauline Margaux Odette",
     "Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Garcia David "
     "Bertrand Roux Vincent Fournier Morel Girard André Lefèvre Mercier Dupont Lambert Bonnet François Martinez "
     "Legrand "
     "Garnier"},
    // Spanish
    {"Antonio José Manuel Francisco Juan David Javier Daniel Carlos Jesús Alejandro Miguel Rafael Pedro Pablo Ángel "
     "Sergio Fernando Jorge Luis Alberto Álvaro Diego Adrián Raúl Enrique Ramón Vicente Iván Rubén Andrés Santiago",
     "María Carmen Ana Isabel Laura Cristina Marta Josefa Lucía Dolores Pilar Elena Teresa Paula Raquel Sara Mercedes "
     "Rosario Beatriz Juana Silvia Patricia Rocío Andrea Sofía Alba Irene Inmaculada Encarnación Gabriela Valentina "
     "Ximena",
     "García González Rodríguez Fernández López Martínez Sánchez Pérez Gómez Martín Jiménez Ruiz Hernández Díaz Moreno "
     "Álvarez Muñoz Romero Alonso Gutiérrez Navarro Torres Domínguez Vázquez Ramos Gil Ramírez Serrano Blanco Molina "
     "Morales Ortega"},
    // Italian
    {"Giuseppe Giovanni Antonio Mario Luigi Francesco Angelo Vincenzo Pietro Salvatore Carlo Franco Domenico Bruno "
     "Paolo Michele Giorgio Sergio Luciano Marco Andrea Alessandro Lorenzo Matteo Davide Stefano Riccardo Gabriele "
     "Roberto Fabio Simone Massimo",
     "Maria Anna Giuseppina Rosa Angela Giovanna Teresa Lucia Carmela Caterina Francesca Chiara Giulia Sara Martina "
     "Elena Paola Laura Silvia Alessandra Federica Valentina Roberta Daniela Sofia Aurora Ginevra Beatrice Alice Emma "
     "Rita Simona",
     "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Mancini Costa Giordano "
     "Rizzo Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone Longo Gentile "
     "Vitale"},
    // Portuguese
    {"João José António Manuel Francisco Carlos Pedro Paulo Luís Miguel Tiago Rui Ricardo Bruno Nuno Jorge Fernando "
     "Diogo Gonçalo Rafael Lucas Gabriel Mateus Guilherme Felipe Gustavo Marcelo Rodrigo Thiago Eduardo Marcos Vítor",
     "Maria Ana Joana Mariana Beatriz Inês Catarina Francisca Leonor Carolina Matilde Helena Teresa Fernanda Juliana "
     "Camila Larissa Letícia Amanda Patrícia Adriana Aline Vanessa Luciana Márcia Sandra Sónia Cláudia Rita Antónia "
     "Gabriela Raquel",
     "Silva Santos Ferreira Pereira Oliveira Costa Rodrigues Martins Sousa Fernandes Gonçalves Gomes Lopes Marques "
     "Alves Almeida Ribeiro Pinto Carvalho Teixeira Moreira Correia Mendes Nunes Soares Vieira Monteiro Cardoso Rocha "
     "Souza Lima Araújo"},
    // Dutch
    {"Jan Johannes Cornelis Hendrik Willem Pieter Gerrit Jacob Dirk Daan Sem Bram Thijs Lars Ruben Jeroen Sander "
     "Maarten Joost Wouter Bas Koen Niels Henk Kees Piet Ruud Marcel Erik Martijn Stijn Gijs",
     "Johanna Cornelia Hendrika Wilhelmina Elisabeth Anna Maria Sanne Femke Lotte Anouk Fleur Iris Marieke Inge Saskia "
     "Ingrid Marloes Esther Wendy Linda Petra Annelies Willemijn Tess Noor Roos Eva Fenna Geertje Truus Mieke",
     "Jansen Bakker Visser Smit Meijer Mulder Bos Vos Peters Hendriks Dekker Brouwer Kok Jacobs Hoekstra Maas "
     "Verhoeven "
     "Koster Willems Prins Huisman Postma Kuiper Veenstra Kramer Bosman Hermans Schouten Peeters Janssens Maes Claes"},
    // Scandinavian and Finnish
    {"Lars Anders Erik Johan Karl Per Nils Mikael Magnus Fredrik Henrik Jens Søren Niels Hans Ole Bjørn Knut Svein "
     "Olav "
     "Arne Kjell Gustav Oskar Sven Göran Juhani Matti Mikko Antti Jukka Timo",
     "Anna Eva Maria Karin Kristina Lena Ingrid Astrid Kerstin Birgitta Margareta Elin Ida Freja Sofie Mette Kirsten "
     "Hanne Inger Liv Solveig Marit Sigrid Tuula Anneli Päivi Kaisa Johanna Maja Linnea Ebba Signe",
     "Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Gustafsson Jensen Nielsen Hansen "
     "Pedersen Andersen Christensen Larsen Sørensen Rasmussen Olsen Johansen Haugen Berg Lindberg Lindström Korhonen "
     "Virtanen Mäkinen Nieminen Laine Heikkinen Dahl"},
    // Polish and Czech
    {"Jan Andrzej Piotr Krzysztof Stanisław Tomasz Paweł Józef Marcin Marek Michał Grzegorz Jerzy Tadeusz Adam Łukasz "
     "Zbigniew Ryszard Dariusz Henryk Mariusz Kazimierz Wojciech Jakub Jiří Petr Václav Miroslav Jaroslav Zdeněk Tomáš "
     "Ondřej",
     "Anna Maria Katarzyna Małgorzata Agnieszka Krystyna Barbara Ewa Elżbieta Zofia Janina Teresa Joanna Magdalena "
     "Monika Jadwiga Danuta Irena Halina Helena Beata Aleksandra Marta Dorota Jana Věra Lenka Kateřina Zuzana Tereza "
     "Petra Hana",
     "Nowak Wójcik Kowalczyk Woźniak Mazur Krawczyk Kaczmarek Zając Król Wieczorek Wróbel Stępień Pawlak Michalak "
     "Dudek "
     "Adamczyk Sikora Baran Szewczyk Pietrzak Marciniak Walczak Novák Svoboda Novotný Dvořák Černý Procházka Kučera "
     "Veselý Horák Němec"},
    // Russian and Ukrainian
    {"Aleksandr Sergey Dmitry Andrey Alexey Vladimir Ivan Mikhail Nikolay Evgeny Igor Oleg Pavel Viktor Yuri Roman "
     "Maxim "
     "Konstantin Anton Denis Boris Vadim Ilya Stanislav Oleksandr Volodymyr Mykola Andriy Serhiy Taras Bohdan Petro",
     "Elena Olga Natalia Anna Irina Tatiana Svetlana Maria Ekaterina Galina Lyudmila Nadezhda Yulia Anastasia Oksana "
     "Valentina Vera Larisa Marina Nina Ksenia Alina Daria Polina Olena Iryna Tetiana Kateryna Oleksandra Halyna Zoya "
     "Lidia",
     "Petrenko Shevchenko Kovalenko Bondarenko Tkachenko Kravchenko Kovalchuk Boyko Melnyk Lysenko Marchenko Savchenko "
     "Rudenko Moroz Pavlenko Polishchuk Bondar Klymenko Levchenko Kharchenko Sidorenko Romanenko Zakharchuk "
     "Ponomarenko "
     "Danylenko Hrytsenko Yurchenko Vasylenko Kuzmenko Panchenko Oliynyk Tymoshenko"},
    // Turkish
    {"Mehmet Mustafa Ahmet Ali Hüseyin Hasan İbrahim İsmail Osman Yusuf Murat Ömer Ramazan Halil Süleyman Abdullah "
     "Emre "
     "Burak Can Serkan Kemal Orhan Cem Volkan Onur Tolga Barış Deniz Kerem Eren Selim Hakan",
     "Fatma Ayşe Emine Hatice Zeynep Elif Meryem Şerife Zehra Sultan Hanife Merve Özlem Esra Büşra Gülşen Sevgi Aylin "
     "Derya Yasemin Nur Selin Ebru Pınar Gamze Dilek Hülya Sibel Songül Tuğba İrem Defne",
     "Yılmaz Kaya Demir Şahin Çelik Yıldız Yıldırım Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt "
     "Özkan Şimşek Polat Korkmaz Çakır Erdoğan Yavuz Acar Güneş Aktaş Bulut Keskin Ünal Turan"},
    // Arabic and Persian, in Latin letters
    {"Mohammed Ahmed Ali Omar Hassan Hussein Ibrahim Khalid Yousef Abdullah Mahmoud Mustafa Samir Karim Tariq Bilal "
     "Hamza Nabil Rashid Faisal Salem Walid Jamal Majid Reza Mehdi Hossein Amir Saeed Farid Nasser Ziad",
     "Fatima Aisha Maryam Zainab Khadija Layla Noor Amina Salma Huda Rania Yasmin Samira Nadia Leila Hana Mona Dalia "
     "Farah Lina Sana Rana Amal Iman Zahra Shirin Parisa Nasrin Mahsa Azadeh Soraya Dunya",
     "Khan Hassan Ahmed Hussein Rahman Saleh Mansour Haddad Khalil Nasser Farouk Aziz Hamdan Qasim Najjar Khoury Salim "
     "Darwish Sharif Habib Bakr Karimi Ahmadi Hosseini Rezaei Moradi Jafari Mahdavi Rostami Abbasi Sadeghi Kazemi"},
    // Indian, in Latin letters
    {"Rajesh Amit Rahul Sanjay Vijay Suresh Ramesh Anil Sunil Ravi Ashok Manoj Arjun Rohit Vikram Deepak Ajay Arun "
     "Prakash Mukesh Dinesh Karthik Aditya Varun Nikhil Gaurav Harish Mahesh Naveen Pradeep Krishna Rohan",
     "Priya Anita Sunita Pooja Neha Kavita Deepa Lakshmi Anjali Meena Rekha Geeta Shanti Divya Sneha Swati Radha Asha "
     "Usha Nisha Ritu Preeti Jyoti Aishwarya Ananya Shreya Kiran Manisha Rani Seema Vidya Padma",
     "Sharma Verma Gupta Singh Kumar Patel Shah Mehta Reddy Rao Nair Iyer Iyengar Menon Pillai Das Bose Banerjee "
     "Mukherjee Chatterjee Ghosh Joshi Desai Kulkarni Deshpande Mishra Pandey Tiwari Yadav Chauhan Agarwal Malhotra"},
    // Chinese, in Latin letters
    {"Wei Jun Ming Jian Hao Qiang Lei Yong Peng Bo Gang Feng Tao Chao Dong Liang Hai Xin Kai Zhiqiang Jianguo Weidong "
     "Xiaoming Haoran Yichen Zihao Guowei Jianhua Zhiwei Minghao Yuxuan Junjie",
     "Fang Na Xiuying Min Jing Yan Juan Ying Hui Xia Mei Ling Yun Lan Hong Qian Xue Dan Ping Li Xiaoyan Meiling Xiaoli "
     "Yuting Jiayi Zihan Xinyi Ruoxi Shuang Lihua Guiying Wenjing",
     "Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie Song Tang "
     "Deng "
     "Feng Cao Peng Zeng Xiao Tian"},
    // Japanese, in Latin letters
    {"Hiroshi Takashi Kenji Akira Satoshi Kazuo Makoto Daisuke Yuki Haruto Ren Sota Takeshi Naoki Kenta Shota Yuto "
     "Tatsuya Kazuki Ryota Masashi Koji Osamu Minoru Toshio Isamu Noboru Shinji Jiro Ichiro Tetsuya Yusuke",
     "Yoko Keiko Sachiko Hanako Naoko Akiko Yumi Emi Mai Sakura Yui Aoi Hina Haruka Misaki Ayumi Kaori Tomoko Noriko "
     "Michiko Kazuko Mariko Reiko Junko Chieko Rina Nanami Mio Asuka Chiyo Setsuko Fumiko",
     "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Yamaguchi "
     "Matsumoto Inoue Kimura Hayashi Shimizu Yamazaki Mori Abe Ikeda Hashimoto Yamashita Ishikawa Nakajima Maeda "
     "Fujita "
     "Ogawa Goto Okada"},
};

// Words beside names that stay; kMaleTitles and kFemaleTitles indicate the sex.
constexpr std::string_view kMaleTitles = " mr mister sir lord master father don herr m monsieur sr señor sig signor ",
                           kFemaleTitles =
                               " mrs miss ms lady madam mme mlle dame dona doña frau fräulein sra srta "
                               "señora señorita signora mevr mevrouw ",
                           kOtherTitles =
                               " dr prof professor rev reverend hon capt captain col colonel major maj lt sgt "
                               "fr st jr sr. ii iii iv phd md dds esq mag dipl ing dott dra mba ",
                           kParticles =
                               " van von der den de del della delle di da dos das do du la le el al bin ibn "
                               "ben ter ten zu zur zum af av y e ";

}  // namespace tessera
